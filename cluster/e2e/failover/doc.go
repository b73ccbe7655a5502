// Package failover tests what a replica that loses its Lease leaves behind: the leader is frozen, or cut off from the
// control plane, while Objects are created, changed and deleted, and another replica takes over.
//
// Each replica is another user of both servers, so that their audit logs say who has written what.
package failover
