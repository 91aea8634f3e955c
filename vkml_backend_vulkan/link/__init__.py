"""Makes SPIR-V modules at run time: functions of prebuilt modules, called in a new order."""
