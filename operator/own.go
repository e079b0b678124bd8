package operator

import "waggle/home"

// OwnJournal is the journal that holds the operator's messages to a team that another program
// leads.
const OwnJournal = home.Operator
