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
