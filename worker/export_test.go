package worker

import "waggle/transport"

// ReadHost is readHost.
var ReadHost = readHost

// Endpoint is what stands behind a worker's socket.
func Endpoint(w *Worker) transport.Host { return endpoint{w} }
