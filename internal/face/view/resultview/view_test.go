package resultview_test

import (
	"waggle/internal/face/view/viewtest"
	_ "waggle/internal/fs/atomicfile/ordertest" // every test checks the order of its locks
)

var (
	golden   = viewtest.Golden
	samePage = viewtest.Page
	same     = viewtest.Same
)
