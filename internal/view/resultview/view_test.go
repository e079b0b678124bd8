package resultview_test

import (
	_ "waggle/internal/atomicfile/ordertest" // every test checks the order of its locks
	"waggle/internal/view/viewtest"
)

var (
	golden   = viewtest.Golden
	samePage = viewtest.Page
	same     = viewtest.Same
)
