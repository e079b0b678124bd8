package process_test

import _ "waggle/internal/atomicfile/ordertest"
