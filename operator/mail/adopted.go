package mail

import ()

// BackendAdopted is the backend of a member that waggle did not start.
const BackendAdopted = "adopted"
