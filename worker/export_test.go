package worker

import "waggle/transport"

// Endpoint is what stands behind a worker's socket.
func Endpoint(w *Worker) transport.Host { return endpoint{w} }
