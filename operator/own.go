package operator

import "waggle/home"

// OwnJournal is where the operator's words to a team that another program leads
// are on record.
const OwnJournal = home.Operator
