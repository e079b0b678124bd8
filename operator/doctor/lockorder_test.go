package doctor_test

import _ "waggle/internal/atomicfile/ordertest"
