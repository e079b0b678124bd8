package supervise_test

import _ "waggle/internal/atomicfile/ordertest"
