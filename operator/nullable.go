package operator

import "waggle/internal/json/jsonobj"

// Nullable is a list that is null in JSON when it is nil, which means something else than an empty one. Documents have
// every other nil list as [].
type Nullable[T any] []T

// MarshalJSON returns the list, or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if n == nil {
		return []byte("null"), nil
	}
	return jsonobj.Marshal([]T(n))
}
