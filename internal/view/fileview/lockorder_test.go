package fileview_test

import _ "waggle/internal/atomicfile/ordertest"
