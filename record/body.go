package record

import (
	"encoding/json"

	"waggle/journal"
)

// Body reads the body of a record, with its error as far as it can be read.
func Body[T any](r journal.Record) (b T, err error) {
	err = json.Unmarshal(r.Body, &b)
	return b, err
}
