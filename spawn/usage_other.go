//go:build !linux && !darwin

package spawn

import "errors"

func usageStats() ([]stat, error) { return nil, errors.ErrUnsupported }
