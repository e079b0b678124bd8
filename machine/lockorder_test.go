package machine_test

import _ "waggle/internal/fs/atomicfile/ordertest"
