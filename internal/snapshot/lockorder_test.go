package snapshot_test

import _ "waggle/internal/atomicfile/ordertest"
