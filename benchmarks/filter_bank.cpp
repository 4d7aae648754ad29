// The filter bank of bankgcn/kernels/layer/filter_bank.py in C++, for benchmarks/compilers.py alone.
//
// It needs no headers of PyTorch: any compiler builds it in a second or two, and ctypes can call it.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

constexpr int COMMON_WIDTH = 64;  // of the paper's layers

struct Shift {
    const int64_t* __restrict rowptr;
    const int64_t* __restrict col;
    const float* __restrict weight;
    const int64_t* __restrict block_ptr;
    int64_t blocks;

    int64_t largest_block() const {
        int64_t largest = 0;
        for (int64_t b = 0; b < blocks; ++b) largest = std::max(largest, block_ptr[b + 1] - block_ptr[b]);
        return largest;
    }
};

// Row i of L~ x, where row j of the signal stands at j - first. WIDTH is known to the compiler, or 0.
template <int WIDTH>
inline void shift_row(const Shift& s, int64_t i, const float* __restrict x, int64_t first, int64_t channels,
                      float* __restrict out) {
    const int64_t width = WIDTH ? WIDTH : channels;
    const int64_t start = s.rowptr[i], end = s.rowptr[i + 1];
    const auto row = [&](int64_t e) { return x + (s.col[e] - first) * width; };
    switch (end - start) {
        case 0:
            std::fill(out, out + width, 0.0f);
            return;
        case 1: {
            const float w0 = s.weight[start];
            const float* __restrict a = row(start);
            for (int64_t k = 0; k < width; ++k) out[k] = w0 * a[k];
            return;
        }
        case 2: {
            const float w0 = s.weight[start], w1 = s.weight[start + 1];
            const float *__restrict a = row(start), *__restrict b = row(start + 1);
            for (int64_t k = 0; k < width; ++k) out[k] = w0 * a[k] + w1 * b[k];
            return;
        }
        case 3: {
            const float w0 = s.weight[start], w1 = s.weight[start + 1], w2 = s.weight[start + 2];
            const float *__restrict a = row(start), *__restrict b = row(start + 1), *__restrict c = row(start + 2);
            for (int64_t k = 0; k < width; ++k) out[k] = w0 * a[k] + w1 * b[k] + w2 * c[k];
            return;
        }
        default: {
            const float w0 = s.weight[start], w1 = s.weight[start + 1];
            const float w2 = s.weight[start + 2], w3 = s.weight[start + 3];
            const float *__restrict a = row(start), *__restrict b = row(start + 1);
            const float *__restrict c = row(start + 2), *__restrict d = row(start + 3);
            for (int64_t k = 0; k < width; ++k) out[k] = w0 * a[k] + w1 * b[k] + w2 * c[k] + w3 * d[k];
            for (int64_t e = start + 4; e < end; ++e) {
                const float w = s.weight[e];
                const float* __restrict a = row(e);
                for (int64_t k = 0; k < width; ++k) out[k] += w * a[k];
            }
        }
    }
}

// One function for both: the adjoint applies the same filter to the gradient, and also sums <T_k g, x>.
template <int WIDTH, bool ADJOINT>
void filter(const Shift& s, const float* __restrict signal, const float* __restrict c, int64_t order, int64_t channels,
          const float* __restrict x, float* __restrict out, float* __restrict grad_c) {
    const int64_t width = WIDTH ? WIDTH : channels;
    const int64_t block = s.largest_block() * width;
    std::vector<float> hops(3 * block), last_hop(width), partial(ADJOINT ? (order + 1) * width : 0);
    if (ADJOINT) std::fill(grad_c, grad_c + (order + 1) * width, 0.0f);
    for (int64_t b = 0; b < s.blocks; ++b) {
        const int64_t first = s.block_ptr[b], last = s.block_ptr[b + 1];
        float* __restrict p_0 = partial.data();
        std::fill(partial.begin(), partial.end(), 0.0f);
        for (int64_t hop = std::min<int64_t>(order, 1); hop <= order; ++hop) {
            const float* current = hops.data() + ((hop + 1) % 3) * block;  // T_(hop-1), from the second hop on
            const float* previous = hops.data() + (hop % 3) * block;       // T_(hop-2), from the third
            float* following = hops.data() + ((hop + 2) % 3) * block;
            const float* __restrict c_k = c + hop * width;
            float* __restrict p_k = partial.data() + (ADJOINT ? hop * width : 0);
            for (int64_t i = first; i < last; ++i) {
                const float* __restrict g = signal + i * width;
                const float* __restrict x_i = ADJOINT ? x + i * width : nullptr;
                float* __restrict o = out + i * width;
                float* __restrict t = hop < order ? following + (i - first) * width : last_hop.data();
                if (hop == 0) {
                    for (int64_t k = 0; k < width; ++k) {
                        o[k] = c[k] * g[k];
                        if (ADJOINT) p_0[k] += g[k] * x_i[k];
                    }
                } else if (hop == 1) {
                    shift_row<WIDTH>(s, i, signal, 0, width, t);
                    for (int64_t k = 0; k < width; ++k) {
                        o[k] = c[k] * g[k] + c_k[k] * t[k];
                        if (ADJOINT) p_0[k] += g[k] * x_i[k];
                        if (ADJOINT) p_k[k] += t[k] * x_i[k];
                    }
                } else {
                    shift_row<WIDTH>(s, i, current, first, width, t);
                    const float* __restrict p = hop == 2 ? g : previous + (i - first) * width;
                    for (int64_t k = 0; k < width; ++k) {
                        t[k] = 2 * t[k] - p[k];
                        o[k] += c_k[k] * t[k];
                        if (ADJOINT) p_k[k] += t[k] * x_i[k];
                    }
                }
            }
        }
        if (ADJOINT)
            for (int64_t k = 0; k < (order + 1) * width; ++k) grad_c[k] += partial[k];
    }
}

template <bool ADJOINT>
void filter_any(const Shift& s, const float* signal, const float* c, int64_t order, int64_t channels, const float* x,
              float* out, float* grad_c) {
    if (channels == COMMON_WIDTH)
        filter<COMMON_WIDTH, ADJOINT>(s, signal, c, order, channels, x, out, grad_c);
    else
        filter<0, ADJOINT>(s, signal, c, order, channels, x, out, grad_c);
}

}  // namespace

// Arrays as in Python; coefficients and their gradient have a column for each channel.
extern "C" void filter_bank(const int64_t* rowptr, const int64_t* col, const float* weight, const int64_t* block_ptr,
                            int64_t blocks, const float* x, const float* c, int64_t order, int64_t channels,
                            float* out) {
    filter_any<false>({rowptr, col, weight, block_ptr, blocks}, x, c, order, channels, nullptr, out, nullptr);
}

extern "C" void filter_bank_adjoint(const int64_t* rowptr, const int64_t* col, const float* weight,
                                    const int64_t* block_ptr, int64_t blocks, const float* x, const float* c, int64_t order,
                                    int64_t channels, const float* gradient, float* grad_x, float* grad_c) {
    filter_any<true>({rowptr, col, weight, block_ptr, blocks}, gradient, c, order, channels, x, grad_x, grad_c);
}
