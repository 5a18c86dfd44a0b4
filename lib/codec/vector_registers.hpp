// ISA-L 2.30 returns with values in the upper halves of the vector registers. After that, each SSE instruction of the
// caller depends on them: an application computed three to six times slower after its first snapshot. So whoever calls
// ISA-L clears them. Pure.
#pragma once

namespace cairn {

#if defined(__x86_64__)
inline void clear_upper_halves() {
  if (!__builtin_cpu_supports("avx")) return;
  asm volatile("vzeroupper" ::
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                     "xmm12", "xmm13", "xmm14", "xmm15");
}
#else
inline void clear_upper_halves() {}
#endif

}  // namespace cairn
