package testenv

import "time"

// CPU returns the processor time that this process used while fn ran. A busy machine
// does not change it, as it changes what a clock says; tests that run beside it do.
func CPU(fn func()) time.Duration {
	began := cpu()
	fn()
	return cpu() - began
}
