package sentence_test

import _ "waggle/internal/atomicfile/ordertest"
