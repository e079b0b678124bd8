package app

import "fmt"

func (e ExitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }
