package testenv

import "time"

// CPU returns the processor time that this process used while fn ran. Other programs on the machine do
// not change it; tests that run beside it in this process do.
func CPU(fn func()) time.Duration {
	began := cpu()
	fn()
	return cpu() - began
}
