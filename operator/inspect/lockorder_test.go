package inspect_test

import _ "waggle/internal/atomicfile/ordertest"
