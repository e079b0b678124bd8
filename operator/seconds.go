package operator

import (
	"encoding/json"
	"math"
	"time"

	"waggle/internal/json/jsonobj"
)

// Seconds is a duration of which a document has the seconds, to the millisecond.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return jsonobj.Marshal(math.Round(time.Duration(s).Seconds()*1000) / 1000)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var n float64
	err := json.Unmarshal(b, &n)
	*s = Seconds(n * float64(time.Second))
	return err
}
