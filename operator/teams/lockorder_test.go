package teams_test

import _ "waggle/internal/atomicfile/ordertest"
