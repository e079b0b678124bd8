package teamfile

import (
	"errors"
	"fmt"
	"time"

	"waggle/record"
)

// Values of restart in a team file.
const (
	RestartNever     = "never"
	RestartOnFailure = "on-failure"
)

// yamlRestart is never, on-failure, or on-failure with its numbers.
type yamlRestart struct {
	Policy  string       `yaml:"policy"`
	Most    yamlCount    `yaml:"most"`
	Within  yamlDuration `yaml:"within"`
	Backoff yamlDuration `yaml:"backoff"`
	Longest yamlDuration `yaml:"longest"`
}

// usualRestart is the default of a member: five restarts in ten minutes, after one second at first
// and a minute at most.
func usualRestart() *record.Restart {
	return &record.Restart{Most: 5, Window: (10 * time.Minute).Milliseconds(), First: time.Second.Milliseconds(), Longest: time.Minute.Milliseconds()}
}

// ParseRestart reads a value of restart.
func ParseRestart(word string) (*record.Restart, error) {
	switch word {
	case RestartNever:
		return nil, nil
	case "", RestartOnFailure:
		return usualRestart(), nil
	}
	return nil, fmt.Errorf("%q is not one of %s, %s", word, RestartNever, RestartOnFailure)
}

func (y *yamlRestart) restart() (*record.Restart, error) {
	if y == nil {
		return usualRestart(), nil
	}
	r, err := ParseRestart(y.Policy)
	if err != nil {
		return nil, err
	}
	times := []yamlDuration{y.Within, y.Backoff, y.Longest}
	for _, d := range times {
		if d < 0 {
			return nil, errors.New("a time is not negative")
		}
	}
	if y.Most < 0 || y.Most > 1000 {
		return nil, errors.New("most is between 0 and 1000; 0 is the usual 5")
	}
	if r == nil {
		if y.Most != 0 || y.Within != 0 || y.Backoff != 0 || y.Longest != 0 {
			return nil, errors.New("never has no numbers")
		}
		return nil, nil
	}
	if y.Most > 0 {
		r.Most = int(y.Most)
	}
	for d, to := range map[*yamlDuration]*int64{&y.Within: &r.Window, &y.Backoff: &r.First, &y.Longest: &r.Longest} {
		if *d > 0 {
			*to = time.Duration(*d).Milliseconds()
		}
	}
	r.Longest = max(r.Longest, r.First)
	return r, nil
}
