package policyview_test

import (
	"waggle/internal/face/view/viewtest"
	_ "waggle/internal/fs/atomicfile/ordertest" // every test checks the order of its locks
)

var (
	at       = viewtest.At
	now      = viewtest.Now
	golden   = viewtest.Golden
	samePage = viewtest.Page
	lines    = viewtest.Lines
)
