package policyview_test

import (
	_ "waggle/internal/atomicfile/ordertest" // every test checks the order of its locks
	"waggle/internal/view/viewtest"
)

var (
	at       = viewtest.At
	now      = viewtest.Now
	golden   = viewtest.Golden
	samePage = viewtest.Page
	lines    = viewtest.Lines
)
