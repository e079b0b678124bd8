//go:build !linux && !darwin

package spawn

import "errors"

func owner(int) (uint32, error) { return 0, errors.ErrUnsupported }
