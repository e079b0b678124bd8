package operator

import ()

func Suffix(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
