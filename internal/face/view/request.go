package view

import (
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

// PendingDocument is a request as `pending --json` lists it (commands §4): these fields and
// no others. Of a network request the input is {"host","port"}, of a plan {"plan"}.
type PendingDocument struct {
	decide.PendingItem
	AgeS      int64   `json:"age_s"`
	ExpiresAt *string `json:"expires_at"`
	File      string  `json:"trust,omitempty"` // "file", or nothing: only a file says that the member asks this
	Status    string  `json:"status"`
}

// RequestDocument is a request with all details, as `show --json` prints it.
type RequestDocument struct {
	row
	decide.Request
}

// row is below the trust of the request, which every request has in its details.
type row struct{ PendingDocument }

// GroupDocument is a group of requests that are alike.
type GroupDocument struct {
	decide.Group
	AgeS  int64    `json:"age_s"` // of the oldest
	Batch bool     `json:"batch"`
	Text  []string `json:"text"`
}

// GroupShown is the document of a group with all its requests.
type GroupShown struct {
	Group    GroupDocument     `json:"group"`
	Requests []RequestDocument `json:"requests"`
}

// PendingList is the document of `pending`.
type PendingList struct {
	Groups  []GroupDocument   `json:"groups"`
	Pending []PendingDocument `json:"pending"`
}

// Pending is the document of open requests, with their groups.
func Pending(qs []decide.Request, now time.Time) PendingList {
	l := PendingList{Groups: []GroupDocument{}, Pending: []PendingDocument{}}
	var open []decide.Request
	for _, q := range qs {
		l.Pending = append(l.Pending, pendingItem(q.PendingItem, now))
		if q.Answer == nil && q.Status != decide.StatusClosed {
			open = append(open, q)
		}
	}
	for _, g := range decide.Groups(open) {
		l.Groups = append(l.Groups, Group(g, now))
	}
	return l
}

func pendingItem(q decide.PendingItem, now time.Time) PendingDocument {
	return PendingDocument{q, page.AgeSeconds(q.Asked, now), page.Until(q.Expires), q.File, q.Status}
}

// Request is the document of one request.
func Request(q decide.Request, now time.Time) RequestDocument {
	return RequestDocument{row{pendingItem(q.PendingItem, now)}, q}
}

// Requests are the documents of requests, never null.
func Requests(qs []decide.Request, now time.Time) []RequestDocument {
	out := make([]RequestDocument, 0, len(qs))
	for _, q := range qs {
		out = append(out, Request(q, now))
	}
	return out
}

// Group is the document of a group.
func Group(g decide.Group, now time.Time) GroupDocument {
	return GroupDocument{g, page.AgeSeconds(g.Oldest, now), g.Batch, g.Text}
}
