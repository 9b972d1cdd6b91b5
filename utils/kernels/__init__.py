def __getattr__(name: str):
    """Give `flash_attention` on first use, so that importing this package needs no triton."""
    if name == "flash_attention":
        from utils.kernels.forward import flash_attention

        return flash_attention
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
