package build

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Rights returns what rules grant, each as "verb group/resource", sorted and once.
func Rights(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all = append(all, verb+" "+group+"/"+resource)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// User returns a user of a name, as what is granted rights.
func User(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

// Administrators returns what gives all rights.
func Administrators(name string, to ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: Meta("", name), Subjects: to,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
}

// RightsIn returns what lets somebody do some things with the ConfigMaps of a namespace.
func RightsIn(namespace, name string, to rbacv1.Subject, verbs ...string) (*rbacv1.Role, *rbacv1.RoleBinding) {
	return &rbacv1.Role{ObjectMeta: Meta(namespace, name), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs,
		}}}, &rbacv1.RoleBinding{
			ObjectMeta: Meta(namespace, name), Subjects: []rbacv1.Subject{to},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		}
}
