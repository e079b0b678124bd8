package results_test

import _ "waggle/internal/atomicfile/ordertest"
