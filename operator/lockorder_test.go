package operator_test

import _ "waggle/internal/atomicfile/ordertest"
