// Affine maps of the plane.
#pragma once

#include <cmath>

namespace perceiver {

// (x, y) -> (xx x + xy y + x0, yx x + yy y + y0)
template <typename Number>
struct AffineMap {
  Number xx = 1, xy = 0, yx = 0, yy = 1, x0 = 0, y0 = 0;

  Number x(Number px, Number py) const { return xx * px + xy * py + x0; }
  Number y(Number px, Number py) const { return yx * px + yy * py + y0; }

  AffineMap inverse() const {
    const Number det = xx * yy - xy * yx;
    const AffineMap linear{yy / det, -xy / det, -yx / det, xx / det};
    return {linear.xx, linear.xy, linear.yx, linear.yy, -linear.x(x0, y0), -linear.y(x0, y0)};
  }

  // First `inner`, then this.
  AffineMap after(const AffineMap& inner) const {
    return {xx * inner.xx + xy * inner.yx, xx * inner.xy + xy * inner.yy,
            yx * inner.xx + yy * inner.yx, yx * inner.xy + yy * inner.yy,
            x(inner.x0, inner.y0),         y(inner.x0, inner.y0)};
  }
};
using Affine = AffineMap<double>;
using AffineF = AffineMap<float>;

inline AffineF to_float(const Affine& a) {
  const auto f = [](double v) { return static_cast<float>(v); };
  return {f(a.xx), f(a.xy), f(a.yx), f(a.yy), f(a.x0), f(a.y0)};
}

inline Affine translation(double x, double y) { return {.x0 = x, .y0 = y}; }

// `linear` about the point (x, y) instead of the origin.
inline Affine about(double x, double y, const Affine& linear) {
  return translation(x - linear.x(x, y), y - linear.y(x, y)).after(linear);
}

}  // namespace perceiver
