package message_test

import _ "waggle/internal/atomicfile/ordertest"
