package view

import "waggle/operator/decide"

// PendingList is the document of `pending` (commands §4).
type PendingList struct {
	Groups  []decide.Group       `json:"groups"`
	Pending []decide.PendingItem `json:"pending"`
}

// Pending is the document of requests, with the groups of the open ones.
func Pending(qs []decide.Request) (l PendingList) {
	var open []decide.Request
	for _, q := range qs {
		l.Pending = append(l.Pending, q.PendingItem)
		if q.Answer == nil && q.Status != decide.StatusClosed {
			open = append(open, q)
		}
	}
	l.Groups = decide.Groups(open)
	return l
}
