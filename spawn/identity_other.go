//go:build !linux && !darwin && !windows

package spawn

import "errors"

func readBootID() string { return "" }

func readStat(int) (stat, error) { return stat{}, errors.ErrUnsupported }

func allStats() ([]stat, error) { return nil, errors.ErrUnsupported }
