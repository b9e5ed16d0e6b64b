"""Install plans: which releases fit a machine together. Pure functions over facts and tables."""
