package operator

// Suffix is a text behind another: ": s", or nothing.
func Suffix(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
