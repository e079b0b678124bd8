package claudesettings_test

import _ "waggle/internal/atomicfile/ordertest"
