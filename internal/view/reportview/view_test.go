package reportview_test

import (
	_ "waggle/internal/atomicfile/ordertest" // every test checks the order of its locks
	"waggle/internal/view/viewtest"
)

var (
	at     = viewtest.At
	golden = viewtest.Golden
	same   = viewtest.Same
)
