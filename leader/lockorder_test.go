package leader_test

import _ "waggle/internal/atomicfile/ordertest"
