package reportview_test

import (
	"waggle/internal/face/view/viewtest"
	_ "waggle/internal/fs/atomicfile/ordertest" // every test checks the order of its locks
)

var (
	at     = viewtest.At
	golden = viewtest.Golden
	same   = viewtest.Same
)
