/* float64 functions, one value at a time: our own, at most 2 ulp (README.md
   has what was measured), the same bits on every machine. Square root, fused
   multiply-add and rounding to integers are the compiler's, being exact. The
   float32 vectors are in f32.h. */

#ifndef KERNELS_MATH_F64_H
#define KERNELS_MATH_F64_H

/* x = quadrant * pi/2 + high + low, |high| <= pi/4, quadrant in [0, 3]. */
typedef struct {
  int quadrant;
  double high, low;
} F64Angle;

/* NaN and infinities give NaN. Right for every double. */
F64Angle f64_angle(double x);

double f64_exp(double x);
double f64_log(double x);
double f64_log2(double x);
double f64_log10(double x);
double f64_sqrt(double x);
double f64_rsqrt(double x);
double f64_sigmoid(double x);
double f64_erf(double x);

double f64_sin(double x);
double f64_cos(double x);
double f64_tan(double x);
double f64_asin(double x);
double f64_acos(double x);
double f64_atan(double x);

double f64_sinh(double x);
double f64_cosh(double x);
double f64_tanh(double x);
double f64_asinh(double x);
double f64_acosh(double x);
double f64_atanh(double x);

double f64_floor(double x);
double f64_ceil(double x);
double f64_trunc(double x);
double f64_round(double x); /* halves away from zero */

/* Relay's approximations are defined for float32; here they are exact. */
double f64_fast_exp(double x);
double f64_fast_tanh(double x);
double f64_fast_erf(double x);

/* x^y with all the special cases of C's pow. */
double f64_power(double x, double y);

/* The remainder of a / b, exact, with the sign of a; NaN for b = 0 and
   infinite a; a for infinite b. For floats the result is a float. */
double f64_trunc_mod(double a, double b);

/* The same moved to the sign of b by adding b, rounded once; a zero has the
   sign of b. For floats, rounding the result to float is rounding once. */
double f64_floor_mod(double a, double b);

#endif
