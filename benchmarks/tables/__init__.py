"""Table releases on real tables: accuracy of counts, cross-tables, means and synthetic rows, and coverage."""
