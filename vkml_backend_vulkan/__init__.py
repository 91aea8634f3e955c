"""The Vulkan backend: the numerics contract on any GPU with Vulkan 1.2."""
