package operator

// Suffix returns ": s", or "" when s is empty.
func Suffix(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
