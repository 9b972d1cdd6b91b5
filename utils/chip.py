"""The sizes of a GPU that every kernel has to live with, as the driver tells them."""


def chip() -> dict[str, int | str] | None:
    """Return the sizes of this machine's NVIDIA GPU, in units named by the keys; None without one."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available() or torch.version.cuda is None:
        return None
    card = torch.cuda.get_device_properties(0)
    return {
        "card": card.name,
        "SMs": card.multi_processor_count,
        "threads of a warp": card.warp_size,
        "threads that an SM holds": card.max_threads_per_multi_processor,
        "register bytes of an SM": 4 * card.regs_per_multiprocessor,
        "shared bytes of an SM": card.shared_memory_per_multiprocessor,
        "shared bytes of a thread block": card.shared_memory_per_block_optin,
        "L2 bytes": card.L2_cache_size,
        "HBM bytes": card.total_memory,
    }
