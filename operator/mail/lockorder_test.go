package mail_test

import _ "waggle/internal/atomicfile/ordertest"
